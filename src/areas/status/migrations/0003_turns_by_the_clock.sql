-- When turns were last taken: a clock that was ahead then, and was set back since, holds nobody's mails. Absent: of the release before.
alter table mail_pace add column taken_at timestamptz(3);
