import { ApiError, badRequest, noSuchPath } from '../../status.ts';
import { findResource, type Resource, type Subresource } from './resources.ts';

/** The verb, resource and name that a request addresses, parsed from its method and path. */
export interface RequestInfo {
  verb: string;
  path: string;
  query: URLSearchParams;
  /** Absent for paths that are no resources, such as /healthz. */
  resource?: Resource;
  subresource?: Subresource;
  namespace: string;
  name: string;
}

const resourceVerbs: Record<string, [one: string, all: string]> = {
  GET: ['get', 'list'],
  HEAD: ['get', 'list'],
  POST: ['create', 'create'],
  PUT: ['update', ''],
  PATCH: ['patch', ''],
  DELETE: ['delete', 'deletecollection'],
};

export function parseRequestInfo(method: string, url: string): RequestInfo {
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const query = new URLSearchParams(mark < 0 ? '' : url.slice(mark + 1));
  const verbs = resourceVerbs[method];
  if (!verbs) throw new ApiError(405, 'MethodNotAllowed', `the server does not allow the method ${method.slice(0, 20)}`, {});
  const parts = splitPath(path);
  const plain: RequestInfo = { verb: method.toLowerCase(), path, query, namespace: '', name: '' };
  const isCore = parts[0] === 'api' && parts[1] === 'v1';
  if (!isCore && parts[0] !== 'apis') return plain;
  const [group, version, rest] = isCore ? ['', 'v1', parts.slice(2)] : [parts[1] ?? '', parts[2] ?? '', parts.slice(3)];
  if (rest.length === 0) return plain;
  return readResource(plain, group, version, rest, verbs, method);
}

function splitPath(path: string): string[] {
  try {
    const parts = path.split('/').filter(Boolean).map(decodeURIComponent);
    if (!parts.some((part) => part.includes('\0'))) return parts;
  } catch {
    // refused below
  }
  throw badRequest('the path is not valid');
}

function readResource(
  plain: RequestInfo,
  group: string,
  version: string,
  rest: string[],
  [one, all]: [string, string],
  method: string,
): RequestInfo {
  let namespace = '';
  let parts = rest;
  // /namespaces/x and its subresources address the namespace itself; other paths below it address objects inside it.
  if (
    parts[0] === 'namespaces' &&
    parts.length >= 3 &&
    !(group === '' && (parts[2] === 'status' || parts[2] === 'finalize') && parts.length === 3)
  ) {
    namespace = parts[1]!;
    parts = parts.slice(2);
  }
  const [plural = '', name = '', below = '', ...more] = parts;
  const resource = findResource(group, version, plural);
  if (!resource || more.length > 0 || (namespace !== '' && !resource.isNamespaced)) throw noSuchPath();
  const subresource = below === '' ? undefined : resource.subresources.find((known) => known.name === below);
  if (below !== '' && !subresource && resource.mode !== 'empty') throw noSuchPath();
  const isWatch = ['1', 'true', ''].includes(plain.query.get('watch') ?? 'no') && method === 'GET' && name === '';
  const verb = name === '' ? (isWatch ? 'watch' : all) : one;
  if (verb === '' || (verb === 'create' && name !== '' && !subresource && resource.mode !== 'empty'))
    throw new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested resource', {});
  if (subresource && !subresource.verbs.includes(verb))
    throw new ApiError(405, 'MethodNotAllowed', 'the server does not allow this method on the requested subresource', {});
  const isInNamespace = resource.isNamespaced || resource.plural === 'namespaces';
  return {
    ...plain,
    verb,
    resource,
    ...(subresource ? { subresource } : {}),
    namespace: isInNamespace && resource.plural === 'namespaces' ? name : namespace,
    name,
  };
}
