-- Why a check is no part of a figure: its prober took itself for the culprit, which stays so, or planned work, which may be called off.
alter table check_result add column degraded boolean not null default false;
