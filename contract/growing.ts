// Enums to which values may be added inside /api/v1. A client shows a value that it does not know as it is, and never fails for it.
// States are not here: clients decide by them, so theirs are promised closed. After a release only fields that are new may be added.

/** By named schema and field; with what may be added. */
export const growing: Record<string, string> = {
  'OncallNotificationRule.channel': 'further ways to reach people',
  // What is read can be sent back as it is.
  'OncallNotificationRuleInput.channel': 'further ways to reach people',
  'OncallPagingTest.pages.channel': 'further ways to reach people',
  'OncallEscalationStep.target.kind': 'further kinds of who can be paged',
  'OncallEscalationStepInput.target.kind': 'further kinds of who can be paged',
  'RegistryKey.mintedVia': 'further ways to get a key',
  'UptimeMonitor.kind': 'further kinds of checks',
  'StatusPageHeldBack.reason': 'further limits',
  'EmailMessageEvent.kind': 'further things that happen to a message',
  'EmailSuppression.reason': 'further reasons',
  'EmailDnsObservation.outcome': 'further findings',
  'OverviewDown.kind': 'further things that can be down',
  'OverviewFailing.kind': 'further things that can fail',
  'OverviewEnding.kind': 'further things that end',
  'OverviewFull.kind': 'further limits',
  'OverviewFull.unit': 'units of further limits',
  'OverviewStep.step': 'further first steps',
  'Session.methods': 'further ways to sign in',
  'SessionProof.methods': 'further ways to sign in',
  'SearchItem.kind': 'further things to find',
};

interface Schema {
  enum?: unknown[];
  properties?: Record<string, Schema>;
  items?: Schema;
}

/** The schema of a field, of its items where it is a list of values, by its path below a named schema; undefined where the document has no such thing. */
export function fieldAt(document: object, path: string): Schema | undefined {
  const [name, ...fields] = path.split('.') as [string, ...string[]];
  const { components } = document as { components: { schemas: Record<string, Schema> } };
  const found = fields.reduce<Schema | undefined>((at, field) => (at?.items ?? at)?.properties?.[field], components.schemas[name]);
  return found?.items?.enum ? found.items : found;
}

/** A copy of an OpenAPI document in which these enums say `x-grows`: for the SDK's types, and for what counts as a breaking change. */
export function markGrowing<Document extends object>(document: Document): Document {
  const marked = structuredClone(document);
  for (const path of Object.keys(growing)) Object.assign(fieldAt(marked, path) ?? {}, { 'x-grows': true });
  return marked;
}
