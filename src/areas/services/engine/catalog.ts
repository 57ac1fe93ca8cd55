import { type Actor, audit } from '../../../identity/audit.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict } from '../../../kernel/errors.ts';
import { insertService, removeService, type ServiceRow, updateServiceName } from '../store/services.ts';
import { publicChanged } from './public.ts';

// The acts on the catalog of services, which uptime and on-call show, each in its own way.

const taken = (name: string): never => conflict(`a service named ${name} exists; choose another name`);

export async function createService(tx: Tx, actor: Actor, name: string): Promise<ServiceRow> {
  const service = (await insertService(tx, actor.org, name)) ?? taken(name);
  await audit(tx, actor, 'services.service.create', service, { name });
  return service;
}

/** A service that is locked gets another name. */
export async function renameService(tx: Tx, actor: Actor, service: ServiceRow, name: string): Promise<ServiceRow> {
  const renamed = (await updateServiceName(tx, actor.org, service.id, name)) ?? taken(name);
  await publicChanged(tx, actor.org);
  await audit(tx, actor, 'services.service.rename', service, { from: service.name, to: renamed.name });
  return renamed;
}

/** A service that is locked is deleted, unless something refers to it: `references` names that, in words, as the areas above know it. */
export async function deleteService(tx: Tx, actor: Actor, service: ServiceRow, references: readonly string[]): Promise<void> {
  if (references.length) conflict(`the service ${service.name} is still used by ${references.join(', ')}; detach or delete those first`);
  await removeService(tx, actor.org, service.id);
  await publicChanged(tx, actor.org);
  await audit(tx, actor, 'services.service.delete', service, { name: service.name });
}
