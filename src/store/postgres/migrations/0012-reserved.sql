-- Runs with programs from 0002 on.

-- Changes nothing.
