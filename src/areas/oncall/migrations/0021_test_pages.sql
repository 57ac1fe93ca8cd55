-- Pages that a person sends to themselves, to see that they arrive. They belong to no incident. Of each person and organization only the
-- newest test is kept.
create table test_page (
  org_id      text not null,
  id          text not null,
  user_id     text not null,
  label       text not null,
  channel     text not null,
  address     text,           -- as it was when the test began; null: the person has given none
  code        text not null,  -- four digits that a reply names
  state       text not null check (state in ('queued', 'sending', 'sent', 'delivered', 'confirmed', 'failed', 'canceled')),
  error       text,
  attempts    int not null default 0,
  provider_id text,
  created_at  timestamptz(3) not null, -- the same of all pages of one test
  sending_at  timestamptz(3),          -- of the first attempt
  sent_at     timestamptz(3),
  ended_at    timestamptz(3),
  primary key (org_id, id)
);
create index test_page_by_person on test_page (user_id, created_at);
