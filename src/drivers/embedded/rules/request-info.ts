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
  const verbs = resourceVerbs[method];
  if (!verbs) throw notAllowed(`the server does not allow the method ${method.slice(0, 20)}`);
  const { path, query } = splitUrl(url);
  const plain: RequestInfo = { verb: method.toLowerCase(), path, query, namespace: '', name: '' };
  const below = findGroup(splitPath(path));
  if (!below) return plain;
  const place = findPlace(below);
  const wantsWatch = method === 'GET' && isWatch(query);
  return { ...plain, ...place, verb: chooseVerb(place, verbs, wantsWatch) };
}

/** To decode it costs more than to read it, and strangers may send one. Selectors of Kubernetes' clients have some hundred characters. */
const maxUrlLength = 8_192;

function splitUrl(url: string): Pick<RequestInfo, 'path' | 'query'> {
  if (url.length > maxUrlLength) throw new ApiError(414, 'RequestURITooLong', `the URL is longer than ${maxUrlLength} characters`);
  const mark = url.indexOf('?');
  if (mark < 0) return { path: url, query: new URLSearchParams() };
  return { path: url.slice(0, mark), query: new URLSearchParams(url.slice(mark + 1)) };
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

/** The parts of a path below a version of an API group. */
interface GroupPath {
  group: string;
  version: string;
  parts: string[];
}

/** Undefined: the path names no resource. */
function findGroup([root, ...rest]: string[]): GroupPath | undefined {
  if (root === 'api' && rest[0] === 'v1') return belowVersion('', rest);
  return root === 'apis' ? belowVersion(rest[0] ?? '', rest.slice(1)) : undefined;
}

const belowVersion = (group: string, [version = '', ...parts]: string[]): GroupPath | undefined =>
  parts.length === 0 ? undefined : { group, version, parts };

/** The resource, and the object or subresource of it, that a path addresses. */
type Place = Pick<RequestInfo, 'subresource' | 'namespace' | 'name'> & { resource: Resource };

function findPlace(below: GroupPath): Place {
  const { namespace, parts } = takeNamespace(below);
  const [plural = '', name = '', part = '', ...more] = parts;
  const resource = findResource(below.group, below.version, plural);
  if (!resource || more.length > 0 || (namespace !== '' && !resource.isNamespaced)) throw noSuchPath();
  const subresource = findSubresource(resource, part);
  return {
    resource,
    ...(subresource ? { subresource } : {}),
    namespace: resource.plural === 'namespaces' ? name : namespace,
    name,
  };
}

const namespaceSubresources = ['status', 'finalize'];

/** /namespaces/x and its subresources address the namespace itself; other paths below it address objects inside it. */
function takeNamespace({ group, parts }: GroupPath): { namespace: string; parts: string[] } {
  const [root, namespace = '', ...inside] = parts;
  if (root !== 'namespaces' || inside.length === 0) return { namespace: '', parts };
  const isOwnSubresource = group === '' && inside.length === 1 && namespaceSubresources.includes(inside[0]!);
  return isOwnSubresource ? { namespace: '', parts } : { namespace, parts: inside };
}

/** An empty kind has every subresource: requests to it are refused with its own reason. */
function findSubresource({ subresources, mode }: Resource, part: string): Subresource | undefined {
  if (part === '') return undefined;
  const found = subresources.find((known) => known.name === part);
  if (!found && mode !== 'empty') throw noSuchPath();
  return found;
}

const isWatch = (query: URLSearchParams): boolean => ['1', 'true', ''].includes(query.get('watch') ?? 'no');

function chooseVerb({ resource, subresource, name }: Place, [one, all]: [string, string], wantsWatch: boolean): string {
  const verb = name !== '' ? one : wantsWatch ? 'watch' : all;
  const createsByName = verb === 'create' && name !== '' && !subresource && resource.mode !== 'empty';
  if (verb === '' || createsByName) throw notAllowed('the server does not allow this method on the requested resource');
  if (subresource && !subresource.verbs.includes(verb))
    throw notAllowed('the server does not allow this method on the requested subresource');
  return verb;
}

const notAllowed = (why: string) => new ApiError(405, 'MethodNotAllowed', why, {});
