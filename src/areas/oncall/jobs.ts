// The engine enqueues these itself, so they are declared where it can reach them. Steps and pages have the page lane to themselves.
export { doctorJob } from './engine/doctor/report.ts';
export { leaveJob } from './engine/escalation/member-removal.ts';
export { pageJob } from './engine/page.ts';
export { renameJob } from './engine/service-references.ts';
export { stepJob } from './engine/step.ts';
