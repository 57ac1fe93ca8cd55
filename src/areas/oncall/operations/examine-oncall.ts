import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { paginate, paginationOf } from '../../../kernel/pagination.ts';
import { listServices } from '../../services/index.ts';
import { examineServices } from '../engine/doctor/examine.ts';
import { findReport } from '../store/doctor.ts';
import { diagnosisView, reportView } from '../views/doctor.ts';

export const examineOncall = operation(oncall.examineOncall, async ({ ctx, query }) =>
  ctx.read(async (tx) => {
    const slice = paginationOf({ limit: 50, ...query });
    const { items, cursor } = paginate(await listServices(tx, ctx.org, ctx.visible, slice), slice, (s) => s.id);
    const { at, examined } = await examineServices(tx, ctx.app, ctx.org, items);
    // The report covers the whole organization, so the caller needs access to all of it.
    const report = ctx.visible === '*' ? await findReport(tx, ctx.org) : undefined;
    return ok({
      at,
      services: examined.map(diagnosisView),
      ...(report ? { report: reportView(report) } : {}),
      ...(cursor ? { cursor } : {}),
    });
  }),
);
