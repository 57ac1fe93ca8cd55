alter table box add column weight int not null default 7;
