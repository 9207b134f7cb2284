// Receives the webhooks of teslim: checks the signature, stores the delivery, and only then answers. Needs Go 1.19 or later and
// nothing else. README.md in this folder explains the environment variables and what to take over.
//
//	WEBHOOK_SECRET=whsec_... PORT=8080 go run receive.go
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	tolerance = 300 * time.Second
	mostBytes = 10_000_000
)

var (
	inbox = setting("WEBHOOK_INBOX", "inbox")
	keys  [][]byte
	name  = regexp.MustCompile(`^[\w-][\w.-]{0,99}$`)
)

func main() {
	// Several while a secret is being replaced, separated by spaces.
	for _, secret := range strings.Fields(os.Getenv("WEBHOOK_SECRET")) {
		key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		if err == nil && strings.HasPrefix(secret, "whsec_") {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		log.Fatal("WEBHOOK_SECRET is not set: it begins with whsec_")
	}
	if err := os.MkdirAll(inbox, 0o700); err != nil {
		log.Fatal(err)
	}
	server := http.Server{
		Addr:              "127.0.0.1:" + setting("PORT", "8080"),
		Handler:           http.HandlerFunc(handle),
		ReadHeaderTimeout: 10 * time.Second,
	}
	log.Println("listening on http://" + server.Addr)
	log.Fatal(server.ListenAndServe())
}

func handle(response http.ResponseWriter, request *http.Request) {
	if request.Method != http.MethodPost {
		response.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, mostBytes))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		response.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	status := http.StatusInternalServerError
	if err == nil {
		status, err = receive(request.Header, body)
	}
	if err != nil {
		// teslim tries again later.
		log.Println(err)
		status = http.StatusInternalServerError
	}
	response.WriteHeader(status)
}

// receive returns the status to answer with.
func receive(headers http.Header, body []byte) (int, error) {
	id := headers.Get("webhook-id")
	if !isSigned(id, headers, body) {
		return http.StatusUnauthorized, nil
	}
	if !name.MatchString(id) {
		return http.StatusBadRequest, nil
	}
	var message struct {
		Type string `json:"type"`
		Data struct{ CustomerID string }
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return 0, err
	}
	// A test of an operator. Other types may come in a later version: they are none of our business.
	if message.Type != "delivery.received" {
		return http.StatusNoContent, nil
	}
	// An order id is unique only within its customer: another supplier may use the same. So each customer has a folder.
	if !name.MatchString(message.Data.CustomerID) {
		return http.StatusBadRequest, nil
	}
	folder := filepath.Join(inbox, message.Data.CustomerID)
	if err := os.MkdirAll(filepath.Join(folder, "done"), 0o700); err != nil {
		return 0, err
	}
	// A repeat: an earlier answer was lost, or an operator asked for it.
	for _, path := range []string{filepath.Join(folder, id+".json"), filepath.Join(folder, "done", id+".json")} {
		if _, err := os.Stat(path); err == nil {
			return http.StatusNoContent, nil
		}
	}
	file, err := os.CreateTemp(folder, ".")
	if err != nil {
		return 0, err
	}
	_, err = file.Write(body)
	if err == nil {
		err = file.Sync()
	}
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return 0, err
	}
	return http.StatusNoContent, os.Rename(file.Name(), filepath.Join(folder, id+".json"))
}

// isSigned checks the bytes as they came: JSON that was read and written again is other bytes.
func isSigned(id string, headers http.Header, body []byte) bool {
	timestamp := headers.Get("webhook-timestamp")
	seconds, err := strconv.ParseInt(timestamp, 10, 64)
	// An old message may have been recorded by somebody else.
	if err != nil || time.Since(time.Unix(seconds, 0)).Abs() > tolerance {
		return false
	}
	for _, key := range keys {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + timestamp + "."))
		mac.Write(body)
		expected := mac.Sum(nil)
		for _, text := range strings.Fields(headers.Get("webhook-signature")) {
			version, encoded, _ := strings.Cut(text, ",")
			sent, err := base64.StdEncoding.DecodeString(encoded)
			if err == nil && version == "v1" && hmac.Equal(sent, expected) {
				return true
			}
		}
	}
	return false
}

func setting(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
