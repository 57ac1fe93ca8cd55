-- Years beyond 9999 were taken once, and a row with one of them cannot be read: it stood in the way of the whole list.
delete from schedule_override where starts_at >= '9999-12-30 00:00Z' or ends_at <= '0001-01-02 00:00Z';
update schedule_override set starts_at = greatest(starts_at, '0001-01-02 00:00Z'), ends_at = least(ends_at, '9999-12-30 00:00Z')
 where starts_at < '0001-01-02 00:00Z' or ends_at > '9999-12-30 00:00Z';
