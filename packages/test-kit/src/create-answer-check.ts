import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

export interface AnswerToCheck {
  status: number;
  contentType: string | undefined;
  body: unknown;
}

export interface AnswerCheck {
  /**
   * The faults of an answer to `method path` (below the base path, a query is passed over) by an OpenAPI 3.1 document: an
   * operation (unless refused as unknown), a status, a media type or a field that it does not name, or a body that is not
   * as it says.
   */
  faultsOf(method: string, path: string, answer: AnswerToCheck): string[];
  /** `get /applications/{applicationId} 200` of every answer that was checked and described. */
  readonly seen: Set<string>;
}

interface Document {
  paths: Record<string, Record<string, { responses: Record<string, Response> }>>;
  components: { responses: Record<string, Response> };
}

interface Response {
  $ref?: string;
  content?: Record<string, { schema?: unknown }>;
}

/** Checks answers against a document, more strictly than it says: a field that it does not name is a fault. */
export function createAnswerCheck(document: object): AnswerCheck {
  const { paths, components } = closed(document) as Document;
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema({ $id: 'document', components });
  const validators = new Map<unknown, ValidateFunction>();
  const validatorOf = (schema: object): ValidateFunction => {
    const known = validators.get(schema) ?? ajv.compile(rebased(schema) as object);
    validators.set(schema, known);
    return known;
  };
  const templates = Object.keys(paths).map((template) => ({
    template,
    pattern: new RegExp(`^${template.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/]+')}$`),
  }));
  const seen = new Set<string>();

  return {
    seen,
    faultsOf(method, path, { status, contentType, body }) {
      const place = path.replace(/\?.*/s, '');
      const fits = templates.filter(({ pattern }) => pattern.test(place)).map(({ template }) => template);
      const template = fits.find((each) => each === place) ?? fits[0];
      const operation = template === undefined ? undefined : paths[template]?.[method.toLowerCase()];
      if (operation === undefined) {
        return status === 404 || status === 405 ? [] : [`${method} ${place} is not described`];
      }
      const name = `${method.toLowerCase()} ${template} ${status}`;
      const given = operation.responses[status];
      const response =
        given?.$ref === undefined ? given : components.responses[given.$ref.split('/').at(-1)!];
      if (response === undefined) return [`${name} is not described`];
      seen.add(name);
      if (response.content === undefined) return body === '' ? [] : [`${name} has a body`];
      const content = response.content[contentType?.replace(/;.*/s, '') ?? ''];
      if (content === undefined) return [`${name} has another media type, ${contentType}`];
      const validate = validatorOf(content.schema as object);
      if (validate(body)) return [];
      return (validate.errors ?? []).map(({ instancePath, message, params }) =>
        [name, instancePath, message, JSON.stringify(params)].join(' '),
      );
    },
  };
}

/** The same with no field allowed that is not named, wherever the document leaves that open. */
function closed(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(closed);
  if (typeof node !== 'object' || node === null) return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, closed(value)]));
  const isOpen = 'properties' in copy && 'type' in copy && copy['type'] === 'object';
  return isOpen && !('additionalProperties' in copy) ? { ...copy, additionalProperties: false } : copy;
}

/** The same with references into the document, out of which it was taken. */
function rebased(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(rebased);
  if (typeof node !== 'object' || node === null) return node;
  return Object.fromEntries(
    Object.entries(node).map(([key, value]) => [
      key,
      key === '$ref' && typeof value === 'string' ? `document${value}` : rebased(value),
    ]),
  );
}
