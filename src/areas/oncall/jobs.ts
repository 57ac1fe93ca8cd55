// Declared in the engine, which enqueues them. Steps and pages have their own lane, `page`.
export { doctorJob } from './engine/doctor/report.ts';
export { leaveJob } from './engine/escalation/member-removal.ts';
export { pageJob } from './engine/page.ts';
export { testPageJob } from './engine/pages/test-pages.ts';
export { renameJob } from './engine/service-references.ts';
export { stepJob } from './engine/step.ts';
