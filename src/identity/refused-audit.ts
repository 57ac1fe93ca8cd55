import type { FastifyRequest } from 'fastify';
import type { Op } from '../../contract/common.ts';
import type { App } from '../kernel/app.ts';
import { Refusal } from '../kernel/errors.ts';
import { runFor } from '../kernel/fairness/index.ts';
import { audit } from './audit.ts';
import { rateLimit } from './rate-limit.ts';

/** Audit rows per minute and organization; refusals beyond that are counted on its next row. */
const maxRowsPerMinute = 60;
const maxTargetLength = 300;

/** Audits requests that were refused for a missing permission, if the operator enabled it: who tried, and what. */
export function makeRefusedAudit(app: App) {
  const rates = rateLimit(maxRowsPerMinute);
  const passedOver = new Map<string, number>();

  return (spec: Op, request: FastifyRequest, error: Error): void => {
    const { principal } = request;
    if (!principal?.user || !(error instanceof Refusal) || error.status !== 403) return;
    const org = principal.org.id;
    const more = passedOver.get(org) ?? 0;
    if (!rates.take(org).allowed) return void passedOver.set(org, more + 1);
    passedOver.delete(org);
    const actor = { org, user: principal.user, principal, requestId: request.id };
    const [path = ''] = request.url.split('?');
    const detail = { operation: spec.id, code: error.code, ...(more > 0 ? { passedOver: more } : {}) };
    const target = { id: `${spec.method} ${path.slice(0, maxTargetLength)}` };
    void runFor({ org, operation: 'audit.refused' }, () => app.db.write((tx) => audit(tx, actor, 'request.refused', target, detail))).catch(
      (err) => {
        app.log.warn({ err, org, operation: spec.id }, 'a refusal is not on record');
        passedOver.set(org, (passedOver.get(org) ?? 0) + more + 1);
      },
    );
  };
}
