import { iam } from '../../../../contract/iam.ts';
import { permissionCatalog } from '../../../../contract/permissions.ts';
import { ok, operation } from '../../../identity/operation.ts';

export const listPermissions = operation(iam.listPermissions, async () => ok({ services: permissionCatalog }));
