// Every permission atom of the product, as data: `service.resource.tier`, read < write < admin.
// Guards, /iam/permissions, /iam/catalog, /tokens/scope-options and the built-in roles all come from this table.

export const tiers = ['read', 'write', 'admin'] as const;
export type Tier = (typeof tiers)[number];

interface ResourceEntry {
  label: string;
  tiers: readonly Tier[];
  /** What a tier lets one do, where “see”, “change” or “administer” would not say it. */
  can?: Partial<Record<Tier, string>>;
  /** For owners and admins alone, as the specification says: no custom role may hold it. */
  reserved?: true;
}
interface ServiceEntry {
  label: string;
  /** Whether roles of this service may be narrowed to resource ids. */
  scopable: boolean;
  resources: Record<string, ResourceEntry>;
}

const all = ['read', 'write', 'admin'] as const;
const rw = ['read', 'write'] as const;

export const services = {
  iam: {
    label: 'Access management',
    scopable: false,
    resources: {
      role: { label: 'Custom roles', tiers: ['admin'], can: { admin: 'Create, change and delete custom roles' } },
      grant: { label: 'Role grants', tiers: ['admin'], can: { admin: 'Grant roles and take them away' }, reserved: true },
    },
  },
  organization: {
    label: 'Organization',
    scopable: false,
    resources: {
      profile: { label: 'Organization name', tiers: ['write'], can: { write: 'Rename the organization' } },
      contacts: { label: 'Contact addresses', tiers: ['write'], reserved: true },
      member: { label: 'Members and invitations', tiers: ['admin'], can: { admin: 'Invite and remove members, change their roles' } },
      audit: { label: 'Audit log', tiers: ['read'], can: { read: 'Read the audit log' } },
      ownership: { label: 'Ownership', tiers: ['admin'], can: { admin: 'Make and remove owners' } },
    },
  },
  registry: {
    label: 'Container registry',
    scopable: true,
    resources: {
      registry: { label: 'Registries', tiers: all, can: { write: 'Create registries', admin: 'Delete registries' } },
      image: {
        label: 'Images',
        tiers: all,
        can: { read: 'List and pull images', write: 'Push images, delete tags', admin: 'Delete images and repositories, purge tags' },
      },
      key: { label: 'Registry keys', tiers: ['read', 'admin'], can: { admin: 'Mint and revoke registry keys' } },
      oidc: { label: 'OIDC access rules', tiers: ['read', 'admin'], can: { admin: 'Create and delete OIDC access rules' } },
      upstream: { label: 'Upstream credentials', tiers: ['read', 'admin'], can: { admin: 'Set and forget upstream credentials' } },
    },
  },
  email: {
    label: 'Email',
    scopable: true,
    resources: {
      domain: { label: 'Sending domains', tiers: rw, can: { write: 'Register, verify, arm and delete sending domains' } },
      key: { label: 'Send keys', tiers: ['read', 'admin'], can: { admin: 'Mint and revoke send keys' } },
      message: { label: 'Messages', tiers: ['read'], can: { read: 'Read messages, their content and the sending posture' } },
      route: { label: 'Inbound routes', tiers: rw, can: { write: 'Create and delete inbound routes' } },
      suppression: {
        label: 'Suppression list',
        tiers: rw,
        can: { read: 'See the suppression list', write: 'Suppress addresses and let them through again' },
      },
      webhook: {
        label: 'Webhook endpoints',
        tiers: rw,
        can: { read: 'See webhook endpoints and deliveries', write: 'Change webhook endpoints, rotate secrets, redeliver' },
      },
    },
  },
  oncall: {
    label: 'On-call',
    scopable: true,
    resources: {
      service: { label: 'Services', tiers: rw, can: { write: 'Create services, attach escalation policies' } },
      incident: { label: 'Incidents', tiers: rw, can: { write: 'Open, acknowledge and resolve incidents' } },
      schedule: { label: 'Schedules', tiers: rw, can: { write: 'Change schedules and overrides' } },
      policy: { label: 'Escalation policies', tiers: rw },
      source: { label: 'Alert sources', tiers: ['read', 'admin'], can: { admin: 'Create and revoke alert sources' } },
      provider: {
        label: 'SMS and voice provider',
        tiers: ['read', 'admin'],
        can: { read: 'See the SMS and voice provider', admin: 'Set and forget the SMS and voice provider' },
      },
      update: { label: 'Public updates', tiers: ['write'], can: { write: 'Publish and retract updates' } },
      page: { label: 'Status pages', tiers: rw },
    },
  },
  clusters: {
    label: 'Managed clusters',
    scopable: true,
    resources: {
      cluster: {
        label: 'Clusters',
        tiers: rw,
        can: { read: 'See clusters, their usage and upgrades', write: 'Create, upgrade, resize and tear down clusters' },
      },
      node: { label: 'Nodes', tiers: rw, can: { write: 'Deregister nodes' } },
      token: {
        label: 'Join and registration tokens',
        tiers: ['read', 'admin'],
        can: { read: 'See registration tokens', admin: 'Mint and revoke join and registration tokens' },
      },
      kubeconfig: { label: 'Client configuration', tiers: ['admin'], can: { admin: 'Fetch client configuration with full rights' } },
    },
  },
  uptime: {
    label: 'Uptime',
    scopable: true,
    resources: {
      service: { label: 'Services', tiers: rw },
      monitor: { label: 'Monitors', tiers: rw, can: { read: 'See monitors and what the probes saw' } },
      export: { label: 'Export tokens', tiers: ['read', 'admin'], can: { admin: 'Mint and revoke export tokens' } },
    },
  },
} as const satisfies Record<string, ServiceEntry>;

type Services = typeof services;
export type ServiceName = keyof Services;
export type Permission = {
  [S in ServiceName]: {
    [R in keyof Services[S]['resources'] & string]: Services[S]['resources'][R] extends { tiers: readonly (infer T extends Tier)[] }
      ? `${S}.${R}.${T}`
      : never;
  }[keyof Services[S]['resources'] & string];
}[ServiceName];

const tierVerb: Record<Tier, string> = { read: 'See', write: 'Change', admin: 'Administer' };
/** The label inside a sentence; abbreviations keep their capitals. */
const inside = (label: string) => (/^[A-Z][a-z]/.test(label) ? label[0]!.toLowerCase() + label.slice(1) : label);

export interface CatalogEntry {
  service: ServiceName;
  serviceLabel: string;
  resources: { resource: string; resourceLabel: string; tiers: { permission: Permission; tier: Tier; label: string }[] }[];
}

export const permissionCatalog: CatalogEntry[] = Object.entries(services as Record<ServiceName, ServiceEntry>).map(([service, entry]) => ({
  service: service as ServiceName,
  serviceLabel: entry.label,
  resources: Object.entries(entry.resources).map(([resource, { label, tiers, can, reserved }]) => ({
    resource,
    resourceLabel: label,
    tiers: tiers.map((tier) => ({
      permission: `${service}.${resource}.${tier}` as Permission,
      tier,
      label: `${can?.[tier] ?? `${tierVerb[tier]} ${inside(label)}`}${reserved ? ' (owners and admins only)' : ''}`,
    })),
  })),
}));

export const permissions: Permission[] = permissionCatalog.flatMap((s) => s.resources.flatMap((r) => r.tiers.map((t) => t.permission)));

/** Atoms that only the roles owner and admin hold. */
export const reservedPermissions: ReadonlySet<string> = new Set(
  Object.entries(services as Record<ServiceName, ServiceEntry>).flatMap(([service, { resources }]) =>
    Object.entries(resources).flatMap(([resource, entry]) => (entry.reserved ? entry.tiers.map((t) => `${service}.${resource}.${t}`) : [])),
  ),
);

/** A tier brings the lower ones of its resource with it: `registry.key.admin` holds `registry.key.read`. */
export function implied(permission: Permission): Permission[] {
  const [service, resource, tier] = permission.split('.') as [ServiceName, string, Tier];
  const resources: Record<string, ResourceEntry> = services[service].resources;
  return (resources[resource]?.tiers ?? [])
    .filter((lower) => tiers.indexOf(lower) <= tiers.indexOf(tier))
    .map((lower) => `${service}.${resource}.${lower}` as Permission);
}

export interface BuiltinRole {
  id: string;
  name: string;
  description: string;
  service?: ServiceName;
  scopable: boolean;
  permissions: Permission[];
}

const ofService = (service: ServiceName, most: Tier) =>
  permissions.filter((p) => {
    const [s, , tier] = p.split('.') as [string, string, Tier];
    return s === service && tiers.indexOf(tier) <= tiers.indexOf(most);
  });

export const organizationRoles = ['owner', 'admin', 'member'] as const;
export type OrganizationRole = (typeof organizationRoles)[number];

const productServices = (Object.keys(services) as ServiceName[]).filter((s) => services[s].scopable);

export const builtinRoles: BuiltinRole[] = [
  { id: 'owner', name: 'Owner', description: 'Everything, the organization and its owners included', scopable: false, permissions },
  {
    id: 'admin',
    name: 'Administrator',
    description: 'Everything except making or removing owners',
    scopable: false,
    permissions: permissions.filter((p) => p !== 'organization.ownership.admin'),
  },
  {
    id: 'member',
    name: 'Member',
    description: 'Belongs to the organization; no service rights of its own',
    scopable: false,
    permissions: [],
  },
  ...productServices.flatMap((service): BuiltinRole[] => {
    const { label } = services[service];
    return [
      {
        id: `${service}.viewer`,
        name: `${label} viewer`,
        description: `See everything in ${label}`,
        service,
        scopable: true,
        permissions: ofService(service, 'read'),
      },
      {
        id: `${service}.editor`,
        name: `${label} editor`,
        description: `See and change everything in ${label} except what is for its administrators`,
        service,
        scopable: true,
        permissions: ofService(service, 'write'),
      },
      {
        id: `${service}.admin`,
        name: `${label} administrator`,
        description: `Everything in ${label}, long-lived credentials included`,
        service,
        scopable: true,
        permissions: ofService(service, 'admin'),
      },
    ];
  }),
];
