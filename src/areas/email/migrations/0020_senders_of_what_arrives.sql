-- Who sent what arrived in a day of UTC: one sender has a share of what an organization may store.
create table received_sender (
  org_id text not null,
  sender text not null, -- the network address that it came from: an IPv4 address, or the /64 of an IPv6 one
  day    date not null,
  bytes  bigint not null,
  primary key (org_id, sender, day)
);
create index received_sender_by_day on received_sender (day);

-- Of a received message: the same address. Null: it arrived before this was noted.
alter table message add column received_from text;
