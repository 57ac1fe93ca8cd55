/** What was verified of a report, in mailauth's shapes. */
export interface VerifiedReport {
  spf?: { status: { result: string }; domain?: string } | false | undefined;
  dkim: {
    results: { status: { result: string; aligned?: string | boolean; underSized?: number }; signingDomain?: string }[];
  };
  dmarc: { status: { header?: { from?: string } } } | false;
}

/** Who sent a complaint: the domain that stands behind it, or why it may be anybody. */
export type Reporter = { domain: string; by: 'dkim' | 'spf' } | { why: string };

/**
 * A complaint counts against an organization only if the domain in its From is known to have sent it: by a signature of that domain over the
 * whole message, or by SPF of a return path of that domain. Anybody can write the rest.
 */
export function judgeReporter(verified: VerifiedReport | undefined): Reporter {
  if (!verified) return { why: 'the report could not be verified' };
  const { dkim, spf, dmarc } = verified;
  const author = dmarc ? dmarc.status.header?.from : undefined;
  if (author === undefined) return { why: 'the report has no From, or more than one' };
  const spfResult = spf ? spf.status.result : 'none';
  const signed = dkim.results.find(({ status }) => status.result === 'pass' && status.aligned && !status.underSized);
  if (signed?.signingDomain) return { domain: author, by: 'dkim' };
  if (spf && spfResult === 'pass' && isOfOneHouse(author, spf.domain)) return { domain: author, by: 'spf' };
  const isUnknown = [...dkim.results.map(({ status }) => status.result), spfResult].includes('temperror');
  if (isUnknown) return { why: `the DNS did not say whether ${author.slice(0, 253)} sent the report` };
  return { why: `neither DKIM nor SPF shows that ${author.slice(0, 253)} sent the report` };
}

/** The same name, or one below the other. */
function isOfOneHouse(one: string, other = ''): boolean {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  return a.includes('.') && b.includes('.') && (a === b || a.endsWith(`.${b}`) || b.endsWith(`.${a}`));
}
