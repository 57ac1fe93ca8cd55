-- The longest time after which this source has repeated an alert that went on firing: much longer without a word, and it has fallen silent.
alter table alert_source add column repeat_seconds int;
-- Alerts of an Alertmanager had no lease: from now on they have, those of incidents that are not resolved included.
update alert a set lease_until = kernel.now() + interval '25 hours'
  from incident i
 where i.org_id = a.org_id and i.id = a.incident_id and i.status <> 'resolved'
   and a.status = 'firing' and a.lease_until is null and a.source_id like 'src\_%';
