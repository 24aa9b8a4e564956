-- What a confirmation holds besides: one JSON document (domain/confirm.Extra).
ALTER TABLE grants ADD COLUMN extra BLOB;
