-- Runs with programs from 0002 on, which leave it empty.

-- Where a delivery came from: API key, address and request id, as src/store/origins.ts writes them. It stands after the payload,
-- because it is only read together with that.
ALTER TABLE delivery ADD COLUMN origin BLOB;
