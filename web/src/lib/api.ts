// Requests to the server: JSON in, JSON out, and errors that a person can understand.

import { route } from './router';
import { getToken } from './token';

export class ApiError extends Error {
  constructor(
    message: string,
    /** The HTTP status; 0 when the server could not be reached. */
    readonly status: number,
    /** The error's code, such as `FILE_NOT_FOUND`, or ''. */
    readonly code: string,
    /** How to correct it, or ''. */
    readonly hint: string,
    /** The argument that was wrong, or ''. */
    readonly argument: string,
  ) {
    super(message);
  }
}

export interface ApiOptions {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  query?: Record<string, string | number | boolean | undefined | null>;
  body?: unknown;
  signal?: AbortSignal;
}

const BASE = '/page/api/';

const DEFAULT_VAULT_KEY = 'defaultVault';

/** Remembers, also over a reload, which vault the server uses when none is named. */
export const setDefaultVault = (name: string): void => sessionStorage.setItem(DEFAULT_VAULT_KEY, name);

/** The vault that the address names; '' for the server's default, whether it is named or not, so that both addresses share
 * drafts and recent notes. */
export function getVaultName(): string {
  const named = route.get().query.get('vault') ?? '';
  return named === sessionStorage.getItem(DEFAULT_VAULT_KEY) ? '' : named;
}

/** Requests `/page/api/PATH`. Throws ApiError, or the abort of `signal`. */
export async function api<T>(path: string, { method, query = {}, body, signal }: ApiOptions = {}): Promise<T> {
  return parseResponse<T>(await send(addressOf(path, query), method ?? (body === undefined ? 'GET' : 'POST'), body, signal));
}

/** The answer with its entity tag, or null if it has not changed since the answer with `tag`. */
export async function apiIfChanged<T>(path: string, tag: string, query: Record<string, string> = {}): Promise<{ value: T | null; etag: string }> {
  const response = await send(addressOf(path, query), 'GET', undefined, undefined, tag ? { 'If-None-Match': tag } : {});
  if (response.status === 304) return { value: null, etag: tag };
  return { value: await parseResponse<T>(response), etag: response.headers.get('ETag') ?? '' };
}

function addressOf(path: string, query: NonNullable<ApiOptions['query']>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries({ vault: getVaultName(), ...query }))
    if (value !== undefined && value !== null && value !== '') parameters.set(name, String(value));
  return BASE + path + (parameters.size ? `?${parameters}` : '');
}

async function send(address: string, method: string, body: unknown, signal?: AbortSignal, extraHeaders: Record<string, string> = {}): Promise<Response> {
  const headers: Record<string, string> = { Authorization: `Bearer ${getToken()}`, ...extraHeaders };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  try {
    const text = body === undefined ? null : JSON.stringify(body);
    return await fetch(address, { method, headers, body: text, signal: signal ?? null, cache: 'no-store' });
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new ApiError('The server cannot be reached at the moment.', 0, '', '', '');
  }
}

async function parseResponse<T>(response: Response): Promise<T> {
  // Not caught: an answer that was cut off must not look like an empty one.
  if (response.ok) return (await response.json()) as T;
  const answer = await response.json().catch(() => ({}));
  const { message = '', code = '', hint = '', argument = '' } = answer.error ?? {};
  throw new ApiError(message || answer.message || `The server answered ${response.status}.`, response.status, code, hint, argument);
}
