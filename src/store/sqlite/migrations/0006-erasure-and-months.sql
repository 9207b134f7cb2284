-- Runs with programs from 0002 on.

-- For PostgreSQL only.
