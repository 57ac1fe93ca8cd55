-- Availability also counts monitors that were deleted: they are found by their service, not among all that the organization ever had.
create index monitor_ever_of_service on monitor (org_id, service_id);
