export type Json = Record<string, unknown>;

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  name: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  ownerReferences?: OwnerReference[];
  finalizers?: string[];
  managedFields?: unknown[];
}

/** A validated object (schema/shape.ts): every field has the type that its message declares. */
export interface KubeObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec?: Json;
  status?: Json;
  [field: string]: unknown;
}

/** A list of strings that may be absent. */
export const textsOf = (value: unknown): string[] => (Array.isArray(value) ? (value as string[]) : []);
export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
