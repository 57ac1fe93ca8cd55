import { type Document, deref, type Op } from './document.ts';

/** `generated/operations.ts`: what the client must know to send each operation, one line each. */
export function operationTable(document: Document, ops: Op[]): string {
  const areas = [...new Set(ops.map((op) => op.area))];
  const table = areas.map(
    (area) =>
      `  ${area}: {\n${ops
        .filter((op) => op.area === area)
        .map((op) => line(document, op))
        .join('')}  },\n`,
  );
  return `import type { Operation } from '../types.ts';\n\nexport const operations: Record<string, Record<string, Operation>> = {\n${table.join('')}};\n`;
}

function line(document: Document, op: Op): string {
  const body = deref(document, op.body);
  const parts = [
    `method: '${op.method}'`,
    `path: '${op.path}'`,
    op.query.length ? `query: [${op.query.map((p) => `'${p.name}'`).join(', ')}]` : '',
    body ? `body: '${body.type === 'array' ? 'list' : op.bodyRequired ? 'object' : 'optional'}'` : '',
    op.idempotent ? 'idempotent: true' : '',
    op.paged ? 'paged: true' : '',
    op.streams ? `streams: '${op.streams}'` : '',
  ];
  return `    ${op.id}: { ${parts.filter(Boolean).join(', ')} },\n`;
}
