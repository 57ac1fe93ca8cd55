import { findMailHostTrouble } from '../../areas/email/index.ts';
import type { Config } from '../../kernel/config.ts';
import { type Finding, ok, warn } from './finding.ts';

/** Whether other mail servers can know this one: records of domains name it, and greetings do. */
export function checkMailHost(config: Config): Finding {
  const why = findMailHostTrouble({ config });
  return why === undefined ? ok('mail host', 'has a name that records can lead to') : warn('mail host', why);
}
