// SPDX-License-Identifier: MIT
#include "attention_report.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>

namespace tegula::tools {
namespace {

AttentionReport reportWithErrors(double worst) {
  AttentionReport report;
  report.target = "cpu";
  report.device = "a \"quoted\" processor";
  report.forward_ms = 2;
  report.errors = AttentionErrors{{{"o", {.worst = worst, .plain = 1}}, {"lse", {.worst = 0, .plain = 1}}}, {}};
  return report;
}

TEST(Report, JsonIsOneObjectWhateverTheDeviceIsCalled) {
  nlohmann::json json = nlohmann::json::parse(toJson(reportWithErrors(0.5)));
  EXPECT_EQ(json["device"], "a \"quoted\" processor");
  EXPECT_EQ(json["forward"]["error_ratio"], 0.5);
}

TEST(Report, JsonSaysNullForNumbersThatAreNotFinite) {
  nlohmann::json json = nlohmann::json::parse(toJson(reportWithErrors(std::nan(""))));
  EXPECT_TRUE(json["forward"]["max_error"].is_null());
  EXPECT_TRUE(json["forward"]["error_ratio"].is_null());
}

TEST(Report, SaysHowManyKernelsWereCompiled) {
  AttentionReport report = reportWithErrors(0.5);
  report.compilations = 1;
  report.cached = 3;
  EXPECT_EQ(nlohmann::json::parse(toJson(report))["compilations"], 1);
  EXPECT_NE(toTable(report).find("kernels: 1 compiled, 3 from the cache\n"), std::string::npos);
}

TEST(Report, NoWorkIsZeroTeraflops) {
  nlohmann::json json = nlohmann::json::parse(toJson(reportWithErrors(0)));
  EXPECT_EQ(json["forward"]["tflops"], 0);
}

TEST(Report, TableMarksErrorsThatAreTooLarge) {
  EXPECT_EQ(toTable(reportWithErrors(2)).find("TOO LARGE"), std::string::npos);
  EXPECT_NE(toTable(reportWithErrors(2.5)).find("TOO LARGE"), std::string::npos);
  EXPECT_NE(toTable(reportWithErrors(std::nan(""))).find("TOO LARGE"), std::string::npos);
}

} // namespace
} // namespace tegula::tools
