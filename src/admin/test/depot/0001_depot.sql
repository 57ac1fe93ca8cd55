-- An area that exists for tests alone: every shape of table that a backup must carry.
create table shelf (
  id     bigint generated always as identity primary key,
  parent bigint references shelf,
  label  text not null,
  loud   text generated always as (upper(label)) stored
);

-- Sorts before what it refers to.
create table entry (
  shelf_id bigint not null references shelf,
  note     text,
  amount   numeric not null,
  took     interval not null,
  share    double precision not null,
  tags     text[] not null,
  detail   jsonb not null
);

create table reading (
  at    timestamptz(3) not null,
  value int not null,
  primary key (at)
) partition by range (at);

create table box (
  id          text primary key,
  object      text not null,
  secret      bytea,
  lease       uuid,
  lease_until timestamptz(3)
);
insert into box (id, object) values ('made-by-the-migration', 'depot/first');
