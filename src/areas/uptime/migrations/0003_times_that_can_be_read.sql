-- Years beyond 9999 were taken once, and a row with one of them cannot be read.
delete from maintenance where starts_at >= '9999-12-30 00:00Z';
update maintenance set ends_at = '9999-12-30 00:00Z' where ends_at > '9999-12-30 00:00Z';
