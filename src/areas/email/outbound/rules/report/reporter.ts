/** Verification results in mailauth's types. */
export interface VerifiedReport {
  spf?: { status: { result: string }; domain?: string } | false | undefined;
  dkim: {
    results: { status: { result: string; aligned?: string | boolean; underSized?: number }; signingDomain?: string }[];
  };
  dmarc: { status: { header?: { from?: string } } } | false;
}

/** The verified domain of a complaint, or why the sender is not verified. */
export type Reporter = { domain: string; by: 'dkim' | 'spf' } | { why: string };

/**
 * A complaint counts against an organization only if its From domain is verified: by a DKIM signature of that domain over the whole message, or by
 * SPF for a return path of that domain. All other content can be forged.
 */
export function judgeReporter(verified: VerifiedReport | undefined): Reporter {
  if (!verified) return { why: 'the report could not be verified' };
  const { dkim, spf, dmarc } = verified;
  const author = dmarc ? dmarc.status.header?.from : undefined;
  if (author === undefined) return { why: 'the report has no From, or more than one' };
  const spfResult = spf ? spf.status.result : 'none';
  const signed = dkim.results.find(({ status }) => status.result === 'pass' && status.aligned && !status.underSized);
  if (signed?.signingDomain) return { domain: author, by: 'dkim' };
  if (spf && spfResult === 'pass' && isRelatedDomain(author, spf.domain)) return { domain: author, by: 'spf' };
  const isUnknown = [...dkim.results.map(({ status }) => status.result), spfResult].includes('temperror');
  if (isUnknown) return { why: `the DNS did not say whether ${author.slice(0, 253)} sent the report` };
  return { why: `neither DKIM nor SPF shows that ${author.slice(0, 253)} sent the report` };
}

/** Equal, or one a subdomain of the other. */
function isRelatedDomain(one: string, other = ''): boolean {
  const [a, b] = [one.toLowerCase(), other.toLowerCase()];
  return a.includes('.') && b.includes('.') && (a === b || a.endsWith(`.${b}`) || b.endsWith(`.${a}`));
}
