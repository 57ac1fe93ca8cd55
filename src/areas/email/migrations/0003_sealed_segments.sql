-- Nothing is added to a segment from here on, whoever still has it open: it becomes an object of the storage.
alter table segment add column sealed_at timestamptz(3);

-- Taken by a smart host, which does not say what becomes of it.
alter table recipient drop constraint recipient_state_check;
alter table recipient add constraint recipient_state_check
  check (state in ('queued', 'sending', 'deferred', 'sent', 'delivered', 'bounced', 'complained', 'suppressed', 'failed'));

-- Large messages are objects of their own, removed one by one when their time is over.
create index message_large on message (created_at) where body_key like 'mail/large/%';
create index message_by_object on message (body_key) where body_key like 'mail/large/%';
