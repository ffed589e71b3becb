"""PostgreSQL, to which an application under test writes: one server, on a host of its own."""

from clusters.postgresql.database import PostgreSQL as PostgreSQL
