-- Incidents of some services, for whoever sees only those; and the alerts of an incident in the order in which they are shown.
create index incident_by_service on incident (org_id, service_id, status, id desc);
create index incident_ended on incident (org_id, service_id, resolved_at) where status = 'resolved';
create index alert_shown on alert (org_id, incident_id, status, id desc);
drop index alert_by_incident;
-- A text message names no page, only the phone that it comes from.
create index page_by_address on page (org_id, address, id desc) where channel <> 'email';

-- How long people took, a row for each day of a service: metrics add these up instead of reading every incident.
create table response_day (
  org_id            text not null,
  service_id        text not null,
  day               date not null,
  incidents         int not null default 0,
  acknowledged      int not null default 0,
  seconds_to_acknowledge float8 not null default 0,
  resolved          int not null default 0,
  seconds_to_resolve float8 not null default 0,
  primary key (org_id, service_id, day)
);
create index response_day_by_day on response_day (day);
insert into response_day
select org_id, service_id, (opened_at at time zone 'UTC')::date, count(*), count(acknowledged_at),
       coalesce(sum(extract(epoch from acknowledged_at - opened_at)), 0), count(resolved_at),
       coalesce(sum(extract(epoch from resolved_at - opened_at)), 0)
  from incident where opened_at > kernel.now() - interval '31 days' group by 1, 2, 3;
