-- What the daily examination of an organization found last, and what its owners were told.
create table doctor_report (
  org_id      text primary key,
  examined_at timestamptz(3) not null,
  services    int not null,
  unpaged     int not null,
  digest      text not null,     -- of all that was found
  told_at     timestamptz(3),
  told_digest text,              -- what it was when the owners were last told, or when there was nothing to tell
  not_told    text               -- why they could not be written to
);

-- What became of the last page to somebody by a channel.
create index page_by_way on page (org_id, user_id, channel, due_at desc) where state in ('sent', 'delivered', 'confirmed', 'failed');
