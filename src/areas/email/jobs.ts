import { failMailOfDomain } from './engine/domains/fail-mail.ts';

export const jobs = [failMailOfDomain];
