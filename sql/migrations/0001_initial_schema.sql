CREATE TABLE schema_migrations (number int PRIMARY KEY, name text NOT NULL, checksum text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now());
CREATE TABLE grid (grid_id text NOT NULL);
