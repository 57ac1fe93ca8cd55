import { tell } from '../../cli/tell.ts';
import { setPayment } from '../areas/organization/index.ts';
import { actingOperator } from '../identity/engine/acting.ts';
import type { Config } from '../kernel/config.ts';
import { findOrganization } from './organization.ts';
import { type OutputOptions, printJson } from './output.ts';
import type { Session } from './session.ts';

interface Where extends OutputOptions {
  organization?: string;
}

export async function showPayment({ db, config }: Session, options: Where) {
  const org = await db.read((tx) => findOrganization(tx, options.organization));
  show(options, org.slug, org.payment_active, config);
}

export async function changePayment({ db, config }: Session, state: 'active' | 'inactive', options: Where) {
  const active = state === 'active';
  const org = await db.write(async (tx) => {
    const org = await findOrganization(tx, options.organization);
    await setPayment(tx, actingOperator(org.id), org, active);
    return org;
  });
  show(options, org.slug, active, config);
}

function show(options: OutputOptions, organization: string, active: boolean, config: Config) {
  const provider = config.payment_url !== '';
  if (options.json) printJson({ organization, payment: active ? 'active' : 'inactive', provider });
  else console.log(`payment of ${organization} is ${active ? 'active' : 'inactive'}`);
  if (provider) tell('this holds without a payment provider; while QUARTERDECK_PAYMENT_URL is set, the provider decides');
}
