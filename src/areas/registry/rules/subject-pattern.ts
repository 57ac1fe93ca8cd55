import { compileParts } from './wildcards.ts';

/** A rule's pattern must match the whole subject. `*` stays inside one part (parts end at a colon), `**` crosses parts. */
export const matchesSubject = (pattern: string, subject: string): boolean => compileParts(pattern, ':')(subject);

const repository = /^(?:repo|repository|job_workflow_ref):[^:/*]+\//;
const owner = /^(?:repository_owner|repository_owner_id|repository_id|enterprise|enterprise_id):[^:*]+(?::|$)/;

interface Owner {
  test(pattern: string): boolean;
}

/** Issuers with many tenants, and the prefix with which their subjects name the owner. */
const sharedIssuers: Record<string, { owner: Owner; example: string }> = {
  'https://token.actions.githubusercontent.com': {
    owner: { test: (pattern) => repository.test(pattern) || owner.test(pattern) },
    example: 'repo:acme/app:ref:refs/heads/main',
  },
  'https://gitlab.com': { owner: /^project_path:[^:/*]+\//, example: 'project_path:acme/app:ref_type:branch:ref:main' },
  'https://agent.buildkite.com': { owner: /^organization:[^:*]+:/, example: 'organization:acme:pipeline:app:**' },
  'https://app.terraform.io': { owner: /^organization:[^:*]+:/, example: 'organization:acme:project:**' },
  'https://oidc.vercel.com': { owner: /^owner:[^:*]+:/, example: 'owner:acme:project:app:**' },
  'https://accounts.google.com': { owner: /^[^:*]+$/, example: '104567890123456789012' },
};

/** An error sentence if the pattern would admit strangers. With a shared issuer it must name the owner before any wildcard. */
export function overbroadPattern(issuer: string, pattern: string): string | undefined {
  const shared = sharedIssuers[issuer.replace(/\/$/, '').toLowerCase()];
  if (shared)
    return shared.owner.test(pattern)
      ? undefined
      : `everybody's jobs come from ${issuer}, so the pattern must name the owner before any *: ${shared.example}`;
  return /^\**$/.test(pattern)
    ? 'the pattern covers every subject of the issuer; begin it with something that only your jobs have'
    : undefined;
}
