import compilerFactory, { type Serializer, type SerializerFactory } from '@fastify/fast-json-stringify-compiler';

// Fastify compiles a serializer for each response of each route, a GET's again for its HEAD, and all of them again for a second server in
// the process: half of the start-up cost. A serializer depends on its schema alone. So each schema is compiled once, on first use: most
// processes never send most responses.

const compiled = new WeakMap<object, Serializer>();

export const buildSerializer: SerializerFactory = (externalSchemas, options) => {
  const compile = compilerFactory()(externalSchemas, options);
  return (route) => {
    const schema = route.schema as object;
    let known: Serializer | undefined;
    const serializer: Serializer = (answer) => {
      if (!known) {
        known = compiled.get(schema) ?? compile(route);
        compiled.set(schema, known);
      }
      return known(answer);
    };
    return serializer;
  };
};
