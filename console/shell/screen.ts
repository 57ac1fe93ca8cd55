/** A component: its type names no library, since scripts and tests read the table of screens too. */
export type ScreenComponent = (props: { params: Record<string, string> }) => unknown;

/** One screen: where it is, what it is called, and what it lets people do. The screen itself is loaded when it is opened. */
export interface Screen {
  /** Below the organization, with parts such as `:id`. */
  path: string;
  title: string;
  /** The group of the navigation. */
  area: AreaName;
  /** The operation without which the screen shows nothing: its permission decides whether the screen is offered. */
  main?: string;
  /** All operations that the screen lets people do or reads from. */
  operations: readonly string[];
  /** In the navigation. */
  listed?: true;
  /** Further words by which the action menu finds it. */
  words?: string;
  load(): Promise<{ default: ScreenComponent }>;
}

export const areas = {
  home: 'Home',
  oncall: 'On-call',
  uptime: 'Uptime',
  status: 'Status pages',
  registry: 'Registry',
  email: 'Email',
  clusters: 'Clusters',
  organization: 'Organization',
  account: 'Account',
  any: 'Everything else',
} as const;

export type AreaName = keyof typeof areas;
