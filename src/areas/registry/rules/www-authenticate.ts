/** A challenge of a registry (RFC 9110, 11.6.1): the first Bearer or Basic one. */
export type Challenge = { scheme: 'basic' } | { scheme: 'bearer'; realm: string; service: string | undefined; scope: string | undefined };

const parameter = /([A-Za-z]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s",]+))/gy;

export function parseChallenge(header: string | undefined): Challenge | undefined {
  if (header === undefined || header.length > 8192) return undefined;
  const bearer = /(?:^|,\s*)bearer\s+/i.exec(header);
  if (!bearer) return /(?:^|,\s*)basic\b/i.test(header) ? { scheme: 'basic' } : undefined;

  const found: Record<string, string> = {};
  parameter.lastIndex = bearer.index + bearer[0].length;
  for (let m = parameter.exec(header); m; m = parameter.exec(header)) {
    found[m[1]!.toLowerCase()] = m[2]?.replaceAll(/\\(.)/g, '$1') ?? m[3]!;
    const comma = /^\s*,\s*/.exec(header.slice(parameter.lastIndex));
    if (!comma) break;
    parameter.lastIndex += comma[0].length;
  }
  const { realm, service, scope } = found;
  return realm ? { scheme: 'bearer', realm, service, scope } : undefined;
}
