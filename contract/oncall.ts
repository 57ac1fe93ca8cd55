import { area } from './common.ts';
import { calendarLinkOps } from './oncall/calendar-links.ts';
import { doctorOps } from './oncall/doctor.ts';
import { incidentOps } from './oncall/incidents.ts';
import { pagingOps } from './oncall/paging.ts';
import { policyOps } from './oncall/policies.ts';
import { scheduleOps } from './oncall/schedules.ts';
import { serviceOps } from './oncall/services.ts';
import { sourceOps } from './oncall/sources.ts';
import { storyOps } from './oncall/story.ts';

export const oncall = area(
  {
    name: 'oncall',
    label: 'On-call',
    description: 'Incidents, schedules, escalation policies, alert sources and who is paged how',
    unauthenticated: 'unauthenticated',
    away: 503,
  },
  {
    ...serviceOps,
    ...incidentOps,
    ...storyOps,
    ...scheduleOps,
    ...calendarLinkOps,
    ...policyOps,
    ...sourceOps,
    ...pagingOps,
    ...doctorOps,
  },
);
