-- First mails go to addresses of people who may never have asked. How many left within a span of time: for a recipient over all organizations,
-- for an organization, and for a client. Subjects are hashes, and rows go when their span has passed.
create table mail_allowance (
  subject    text not null,
  seconds    int not null, -- the span
  started_at timestamptz(3) not null,
  taken      int not null,
  primary key (subject, seconds)
);
create index mail_allowance_by_age on mail_allowance (started_at);

-- First mails that did not leave, for the organization to see.
create table held_back (
  org_id  text not null,
  page_id text not null,
  reason  text not null,
  mails   int not null,
  last_at timestamptz(3) not null,
  primary key (org_id, page_id, reason),
  foreign key (org_id, page_id) references page on delete cascade
);
create index held_back_by_age on held_back (last_at);
