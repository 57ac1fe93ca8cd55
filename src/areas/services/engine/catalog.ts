import { type Actor, audit } from '../../../identity/audit.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict } from '../../../kernel/errors.ts';
import { insertService, removeService, type ServiceRow, updateServiceName } from '../store/services.ts';
import { publicChanged } from './public.ts';

// Changes to the catalog of services, which uptime and on-call share.

const taken = (name: string): never => conflict(`a service named ${name} exists; choose another name`);

export async function createService(tx: Tx, actor: Actor, name: string): Promise<ServiceRow> {
  const service = (await insertService(tx, actor.org, name)) ?? taken(name);
  await audit(tx, actor, 'services.service.create', service, { name });
  return service;
}

/** Renames a locked service. */
export async function renameService(tx: Tx, actor: Actor, service: ServiceRow, name: string): Promise<ServiceRow> {
  const renamed = (await updateServiceName(tx, actor.org, service.id, name)) ?? taken(name);
  await publicChanged(tx, actor.org);
  await audit(tx, actor, 'services.service.rename', service, { from: service.name, to: renamed.name });
  return renamed;
}

/** Deletes a locked service, unless something refers to it. `references` names what does, in words of the other areas. */
export async function deleteService(tx: Tx, actor: Actor, service: ServiceRow, references: readonly string[]): Promise<void> {
  if (references.length) conflict(`the service ${service.name} is still used by ${references.join(', ')}; detach or delete those first`);
  await removeService(tx, actor.org, service.id);
  await publicChanged(tx, actor.org);
  await audit(tx, actor, 'services.service.delete', service, { name: service.name });
}
