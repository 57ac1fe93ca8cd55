import type { Complaint } from './complaint.ts';
import type { Report, Reported } from './index.ts';

/** What we know of the recipient whose return path a report came to. */
export interface Known {
  /** In lower case, as all addresses here. */
  address: string;
  /** The other recipients of the same message. */
  others: ReadonlySet<string>;
  state: string;
  /** Whether it was ever tried: nobody has seen the return path of one that was not. */
  isTried: boolean;
}

export type Followed =
  | { to: 'bounced'; said: Reported }
  | { to: 'delivered'; said: Reported }
  | { to: 'complained'; complaint: Complaint }
  | undefined;

/** States that a report of failure can still change: what bounced, failed or complained stays so. */
const mayBounce = new Set(['sending', 'queued', 'deferred', 'sent', 'delivered']);
/** Feedback that says nothing against the mail, or nothing that its recipient said. */
const isNoComplaint = new Set(['not-spam', 'auth-failure', 'dmarc', 'tls']);

/**
 * What follows from a report for the one recipient that its return path names, and for nobody else: whatever it says of others could have been
 * written by anybody. The same report again finds what it has changed, and changes nothing.
 */
export function followReport(known: Known, report: Report): Followed {
  if (!known.isTried || known.state === 'complained') return undefined;
  if (report.kind === 'complaint') return followComplaint(known, report.complaint);
  if (report.kind !== 'delivery') return undefined;
  const about = report.recipients.filter((said) => !isAboutAnother(known, said));
  const failed = about.filter(({ action }) => action === 'failed');
  if (failed.length > 0) {
    if (!mayBounce.has(known.state)) return undefined;
    return { to: 'bounced', said: asOurs(known, failed.find((said) => isNamed(known, said)) ?? failed[0]!) };
  }
  // A smart host took it; now somebody says that it arrived.
  const arrived = about.find(({ action }) => action === 'delivered');
  return arrived && known.state === 'sent' ? { to: 'delivered', said: arrived } : undefined;
}

function followComplaint(known: Known, complaint: Complaint | undefined): Followed {
  if (!complaint || isNoComplaint.has(complaint.feedbackType)) return undefined;
  const named = complaint.addresses.map((address) => address.toLowerCase());
  const isOthers = named.length > 0 && !named.includes(known.address) && named.every((address) => known.others.has(address));
  return isOthers ? undefined : { to: 'complained', complaint };
}

const namesOf = ({ address, original }: Reported) => [address, original].flatMap((one) => one?.toLowerCase() ?? []);

/** It names another recipient of the same message: that one has a return path of its own. */
const isAboutAnother = ({ address, others }: Known, said: Reported): boolean => {
  const names = namesOf(said);
  return !names.includes(address) && names.some((name) => others.has(name));
};

const split = (address: string) => address.split('@') as [string, string?];

/** It names our recipient, perhaps as their own server calls them; or it names nobody. */
function isNamed({ address }: Known, said: Reported): boolean {
  const names = namesOf(said);
  const [local, domain] = split(address);
  return names.length === 0 || names.some((name) => name === address || split(name)[0] === local || split(name)[1] === domain);
}

/** Where our recipient's mail goes on to somebody else, it is that one who is not there: ours may be, so nobody is suppressed for it. */
const asOurs = (known: Known, said: Reported): Reported =>
  said.bounceType === 'hard' && !isNamed(known, said) ? { ...said, bounceType: 'undetermined' } : said;
