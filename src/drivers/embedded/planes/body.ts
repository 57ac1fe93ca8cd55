import { badRequest } from '../../status.ts';
import type { Call } from '../engine/call.ts';
import { toCoreForm } from '../rules/kinds/event.ts';
import type { KubeObject } from '../rules/object.ts';
import { groupVersionOf, type Resource } from '../rules/resources.ts';
import { type Message, messageNamed } from '../rules/schema/messages.ts';
import { shapeObject } from '../rules/schema/shape.ts';

/** The kind of object that a request's body must hold. */
export interface ExpectedBody {
  apiVersion: string;
  kind: string;
  message: Message;
}

export function expectBody({ requestInfo: { resource, subresource } }: Pick<Call, 'requestInfo'>): ExpectedBody {
  if (subresource?.name === 'token')
    return { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', message: messageNamed('authentication.TokenRequest') };
  return { apiVersion: groupVersionOf(resource!), kind: resource!.kind, message: messageNamed(resource!.message) };
}

export interface DecodedObject {
  object: KubeObject;
  warnings: string[];
}

/** Decodes and validates the object in a body, and converts it to the stored form. */
export function decodeObject(call: Call, value: unknown = call.body): DecodedObject {
  const { apiVersion, kind, message } = expectBody(call);
  const given = (value ?? {}) as { apiVersion?: unknown; kind?: unknown };
  if (value === undefined || value === null) throw badRequest('the request has no body; send the object');
  if (given.apiVersion !== undefined && given.apiVersion !== '' && given.apiVersion !== apiVersion)
    throw badRequest(
      `the API version in the data (${String(given.apiVersion).slice(0, 100)}) does not match the expected API version (${apiVersion})`,
    );
  if (given.kind !== undefined && given.kind !== '' && given.kind !== kind)
    throw badRequest(`the kind in the data (${String(given.kind).slice(0, 100)}) does not match the expected kind (${kind})`);
  const { object, unknown } = shapeObject(message, value, apiVersion, kind);
  return { object: toStoredForm(call.requestInfo.resource!, object), warnings: checkUnknownFields(call.requestInfo.query, unknown) };
}

export const toStoredForm = ({ storedAs, group }: Resource, object: KubeObject): KubeObject =>
  storedAs === 'events' && group !== '' ? toCoreForm(object) : object;

/** Reports or rejects unknown fields, as the query parameter `fieldValidation` says. */
function checkUnknownFields(query: URLSearchParams, unknown: string[]): string[] {
  const validation = query.get('fieldValidation') ?? 'Warn';
  if (unknown.length === 0 || validation === 'Ignore') return [];
  const sentences = unknown.map((path) => `unknown field "${path.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 300)}"`);
  if (validation === 'Strict') throw badRequest(`strict decoding error: ${sentences.join(', ')}`);
  return sentences.slice(0, 10);
}
