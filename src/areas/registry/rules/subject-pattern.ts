// A rule's pattern covers a whole subject. `*` stays inside one part of it (parts end at a colon), `**` crosses parts.
// Every state is followed at once, so no pattern and no subject make this slow; a backtracking RegExp would be an attack surface.

const star = 0;
const doubleStar = 1;
type Step = string | typeof star | typeof doubleStar;

function stepsOf(pattern: string): Step[] {
  const steps: Step[] = [];
  for (let i = 0; i < pattern.length; i++) {
    if (pattern[i] !== '*') steps.push(pattern[i]!);
    else if (pattern[i + 1] !== '*') steps.push(star);
    else {
      steps.push(doubleStar);
      i++;
    }
  }
  return steps;
}

const isWild = (step: Step | undefined) => step === star || step === doubleStar;

export function matchesSubject(pattern: string, subject: string): boolean {
  const steps = stepsOf(pattern);
  let at = new Set<number>();
  const enter = (states: Set<number>, state: number) => {
    for (let s = state; ; s++) {
      states.add(s);
      if (!isWild(steps[s])) return; // a wildcard may also stand for nothing
    }
  };
  enter(at, 0);
  for (const char of subject.split('')) {
    const next = new Set<number>();
    for (const state of at) {
      const step = steps[state];
      if (step === doubleStar || (step === star && char !== ':')) enter(next, state);
      else if (step === char) enter(next, state + 1);
    }
    if (!next.size) return false;
    at = next;
  }
  return at.has(steps.length);
}

/** What an issuer that serves everybody says first of a subject, up to where it has named whose job it is. */
const sharedIssuers: Record<string, { owner: RegExp; example: string }> = {
  'https://token.actions.githubusercontent.com': {
    owner:
      /^(?:(?:repo|repository|job_workflow_ref):[^:/*]+\/|(?:repository_owner|repository_owner_id|repository_id|enterprise|enterprise_id):[^:*]+(?::|$))/,
    example: 'repo:acme/app:ref:refs/heads/main',
  },
  'https://gitlab.com': { owner: /^project_path:[^:/*]+\//, example: 'project_path:acme/app:ref_type:branch:ref:main' },
  'https://agent.buildkite.com': { owner: /^organization:[^:*]+:/, example: 'organization:acme:pipeline:app:**' },
  'https://app.terraform.io': { owner: /^organization:[^:*]+:/, example: 'organization:acme:project:**' },
  'https://oidc.vercel.com': { owner: /^owner:[^:*]+:/, example: 'owner:acme:project:app:**' },
  'https://accounts.google.com': { owner: /^[^:*]+$/, example: '104567890123456789012' },
};

/** A sentence when the pattern would let strangers in: with an issuer that everybody uses, it must name the owner before any wildcard. */
export function strangersAllowed(issuer: string, pattern: string): string | undefined {
  const shared = sharedIssuers[issuer.replace(/\/$/, '').toLowerCase()];
  if (shared)
    return shared.owner.test(pattern)
      ? undefined
      : `everybody's jobs come from ${issuer}, so the pattern must name the owner before any *: ${shared.example}`;
  return /^\**$/.test(pattern)
    ? 'the pattern covers every subject of the issuer; begin it with something that only your jobs have'
    : undefined;
}
