/** An error sentence if this cannot be an issuer (OpenID Connect Discovery 1.0, 2): an https URL without query, fragment or login. */
export function badIssuer(issuer: string, mayBePlain: (host: string) => boolean): string | undefined {
  if (!URL.canParse(issuer)) return 'issuer must be a URL';
  const url = new URL(issuer);
  if (url.search || url.hash || issuer.endsWith('?') || issuer.endsWith('#')) return 'issuer must have no query and no fragment';
  if (url.username || url.password) return 'issuer must hold no login';
  if (url.protocol === 'https:') return undefined;
  if (url.protocol !== 'http:') return 'issuer must be an https URL';
  return mayBePlain(url.hostname.replace(/^\[|\]$/g, ''))
    ? undefined
    : 'issuer must be https; plain http is taken only for an address that the operator opened with QUARTERDECK_ALLOW_PRIVATE_CIDRS (use oidc)';
}
