-- Domains below another one, found by how their names end.
create index domain_by_reversed_name on domain (reverse(name) collate "C");
