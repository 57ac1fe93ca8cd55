-- Pages that wait to go out to somebody: canceled in slices when that person is removed.
create index page_queued_to on page (org_id, user_id, incident_id, id) where state = 'queued';
