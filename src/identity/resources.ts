import type { Permission } from '../../contract/permissions.ts';
import type { Tx } from '../kernel/db/index.ts';
import type { Visible } from '../kernel/sql.ts';

/** A resource that a role can be narrowed to. */
export interface Resource {
  service: string;
  id: string;
  name: string;
}

/** Live resources of an organization that scopes can name, as their area lists them. */
export interface ResourceSource {
  service: string;
  /** The permission that a caller needs to see them. */
  permission: Permission;
  list(tx: Tx, org: string, visible: Visible): Promise<{ id: string; name: string }[]>;
}
