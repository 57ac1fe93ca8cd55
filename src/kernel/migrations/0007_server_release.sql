-- The release and the roles of each running server, for people who ask what runs here. Null: the server runs an older release.
alter table kernel.server
  add column version text,
  add column roles   text[];
